By0J0ndA¶°ù@”L*AsÝ@x¶]ApU2A¾°(A
Q†A0¤â?Ð®CA|.Aòy­@